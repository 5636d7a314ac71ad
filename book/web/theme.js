// Sets the theme that the reader chose, or that the system asks for, before
// the first paint: it is loaded ahead of the styles, and not deferred.
{
  const root = document.documentElement.dataset;
  let [mode, progress] = [null, null];
  try {
    mode = localStorage.getItem("mode");
    progress = localStorage.getItem("progress");
  } catch { /* not allowed */ }
  root.mode = ["light", "dark"].includes(mode) ? mode : "auto";
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  // The front page leaves room for a link to where reading stopped.
  if (progress?.includes('"chapter"')) root.stopped = "";
  root.theme = root.mode === "auto" ? (dark ? "dark" : "light") : mode;
}

// Asks for the letters of the text ahead of the styles that name them; on a
// disk a browser takes that for a request to another host.
if (location.protocol !== "file:") {
  const serif = "source-serif-4/source-serif-4-latin-wght-normal.woff2";
  document.head.append(Object.assign(document.createElement("link"), {
    rel: "preload",
    as: "font",
    type: "font/woff2",
    crossOrigin: "",
    href: new URL(`fonts/${serif}`, document.currentScript.src),
  }));
}
