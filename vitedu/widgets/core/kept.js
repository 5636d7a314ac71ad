// What a reader has set, kept in the browser until the next visit: for each
// explorer of a page the fragment of an address that would set the same.

const keyOf = (id) => `${location.pathname}#${id}`;

// A browser may forbid all of this, or have no room left: nothing is kept then.
export function keptFragment(id) {
  try {
    return localStorage.getItem(keyOf(id)) ?? "";
  } catch {
    return "";
  }
}

// A fragment without settings leaves nothing behind.
export function keepFragment(id, fragment) {
  try {
    localStorage.removeItem(keyOf(id));
    if (fragment !== `#${id}`) localStorage.setItem(keyOf(id), fragment);
  } catch { /* forgotten */ }
}
