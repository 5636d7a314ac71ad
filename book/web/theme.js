// Sets the theme that the reader chose, or that the system asks for, before
// the first paint: it is loaded ahead of the styles, and not deferred.
{
  const root = document.documentElement.dataset;
  let mode = null;
  try { mode = localStorage.getItem("mode"); } catch { /* not allowed */ }
  root.mode = ["light", "dark"].includes(mode) ? mode : "auto";
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.theme = root.mode === "auto" ? (dark ? "dark" : "light") : mode;
}
