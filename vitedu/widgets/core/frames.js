// Something that moves by itself, only while a reader can see it.

// Calls `step` with the seconds since the last call, each frame in which
// `root` is on the screen, while it runs.
export function whileSeen(root, step) {
  let visible = false;
  let running = false;
  let frame = 0;
  let before;
  function tick(now) {
    // Asked for first, so that `step` can end it.
    frame = requestAnimationFrame(tick);
    const seconds = (now - (before ?? now)) / 1000;
    before = now;
    step(seconds);
  }
  function settle() {
    cancelAnimationFrame(frame);
    before = undefined;
    if (visible && running) frame = requestAnimationFrame(tick);
  }
  const observer = new IntersectionObserver((entries) => {
    visible = entries.at(-1).isIntersecting;
    settle();
  });
  observer.observe(root);
  function run(value) {
    if (running === value) return;
    running = value;
    settle();
  }
  function dispose() {
    observer.disconnect();
    run(false);
  }
  return { run, dispose };
}
