// The numbers of the explorer CLASS.

const MAX_NUMBER = 10;

function readings(number) {
  return { number, square: number * number };
}
