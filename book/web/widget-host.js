// Mounts the anywidgets of a page of the book, with no kernel behind it.
//
// Jupyter leaves two things in a page: the state of all widgets, and a script
// element of type VIEW wherever a widget was shown. This host builds a model
// from each state and renders a view of it in front of each such element. It
// takes the place of ipywidgets' embedder (3.6 MB), and knows anywidgets only.
//
// Where this script's element names a file of states, data-state="address",
// it is loaded when the reader comes near a widget, and only those that are
// near are started. Where the states stand in the page, all start at once.
// A state may be the name of a file, which is loaded when a widget asks for it.
//
// The build has turned their modules into functions (widget_state.py): module
// scripts do not load from disk (file://), and a host may forbid scripts that
// are made of text.
(() => {
  "use strict";

  const VIEW = "application/vnd.jupyter.widget-view+json";
  const REFERENCE = "IPY_MODEL_";
  const WORDS = {
    failed: "This interactive figure could not be started:",
    unknown: "the page holds no widget",
    foreign: "only anywidgets run without a kernel, this is a",
    module: "its script is not in the page",
    states: "this script could not be loaded:",
  };

  const widgets = new Map(); // id -> Widget
  const modules = new Map(); // name -> promise of what the module exports
  const waiting = new Set(); // elements whose widget has not started
  const styles = new Set(); // texts of the style sheets that are in the page
  const address = document.currentScript.dataset.state;
  const gone = new AbortController(); // aborted when the page is left
  const loading = new Map(); // address of a script -> promise that it is there

  // Binary values travel beside the state: {path, encoding, data}.
  function withBuffers({ state, buffers = [] }) {
    const whole = structuredClone(state);
    for (const { path, data } of buffers) {
      const last = path.at(-1);
      let place = whole;
      for (const step of path.slice(0, -1)) place = place[step];
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      place[last] = new DataView(bytes.buffer);
    }
    return whole;
  }

  function isEqual(a, b) {
    if (Object.is(a, b)) return true;
    if (!isPlain(a) || !isPlain(b) || Array.isArray(a) !== Array.isArray(b)) {
      return false;
    }
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length
      && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
  }

  function isPlain(value) {
    return Array.isArray(value)
      || (typeof value === "object" && value?.constructor === Object);
  }

  class Widget {
    constructor(id) {
      this.source = globalThis.viteduWidgetState?.state[id];
      if (!this.source) throw new Error(`${WORDS.unknown} ${id}`);
      this.values = withBuffers(this.source);
      this.listeners = [];
    }

    // Starts once, however many views there are.
    get started() {
      return (this.starting ??= this.start());
    }

    async start() {
      if (this.source.model_module !== "anywidget") {
        throw new Error(`${WORDS.foreign} ${this.source.model_name}`);
      }
      addStyle(this.values._css);
      this.definition = await loadModule(this.values._esm);
    }

    async render(el, signal) {
      await this.started;
      for (const name of this.values._dom_classes ?? []) {
        el.classList.add(name);
      }
      const cleanup = await this.definition.render({
        model: this.modelFor(signal), el,
      });
      if (typeof cleanup === "function") onAbort(signal, cleanup);
    }

    // The state is one; each view has listeners of its own, gone with it.
    modelFor(signal) {
      const owner = {};
      onAbort(signal, () => this.off(owner));
      return {
        get: (name) => this.values[name],
        set: (name, value) =>
          this.set(typeof name === "object" ? name : { [name]: value }),
        on: (names, callback) => this.on(owner, names, callback),
        off: (names, callback) => this.off(owner, names, callback),
        save_changes: () => {},
        send: () => {},
        widget_manager: {
          get_model: async (id) => (await loaded(id)).modelFor(signal),
        },
      };
    }

    set(changes) {
      const changed = Object.entries(changes).filter(
        ([name, value]) => !isEqual(this.values[name], value),
      );
      Object.assign(this.values, changes);
      for (const [name, value] of changed) this.tell(`change:${name}`, value);
      if (changed.length) this.tell("change");
    }

    tell(event, value) {
      for (const { name, callback } of [...this.listeners]) {
        if (name !== event) continue;
        try {
          callback(this, value);
        } catch (error) {
          reportError(error); // the other views still have to hear of it
        }
      }
    }

    on(owner, names, callback) {
      for (const name of names.split(" ")) {
        this.listeners.push({ owner, name, callback });
      }
    }

    off(owner, names, callback) {
      const dropped = names?.split(" ");
      this.listeners = this.listeners.filter(
        (listener) => listener.owner !== owner
          || (dropped && !dropped.includes(listener.name))
          || (callback && callback !== listener.callback),
      );
    }
  }

  function widget(reference) {
    const id = reference.replace(REFERENCE, "");
    if (!widgets.has(id)) widgets.set(id, new Widget(id));
    return widgets.get(id);
  }

  function addStyle(css) {
    if (!css || styles.has(css)) return;
    styles.add(css);
    // Not an element: a host may forbid style elements.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets.push(sheet);
  }

  async function loaded(reference) {
    const states = globalThis.viteduWidgetState;
    const file = states?.state[reference.replace(REFERENCE, "")]?.file;
    if (file) await loadScript(new URL(file, states.address).href);
    return widget(reference);
  }

  // A script, not a fetch: it works from disk, too. One that did not come may
  // come the next time.
  function loadScript(source) {
    if (!loading.has(source)) {
      loading.set(source, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.onload = resolve;
        script.onerror = () => {
          loading.delete(source);
          reject(new Error(`${WORDS.states} ${source}`));
        };
        script.src = source;
        document.head.append(script);
      }));
    }
    return loading.get(source);
  }

  function loadModule(name) {
    if (!modules.has(name)) {
      const module = globalThis.viteduWidgetModules?.[name];
      if (!module) throw new Error(WORDS.module);
      modules.set(name, module());
    }
    return modules.get(name);
  }

  function onAbort(signal, callback) {
    signal.addEventListener("abort", callback, { once: true });
  }

  async function mount(place) {
    if (!waiting.delete(place)) return;
    near.unobserve(place);
    try {
      if (address) await loadScript(address);
      const { model_id: id } = JSON.parse(place.nextSibling.textContent);
      await widget(id).render(place, gone.signal);
    } catch (error) {
      console.warn(error);
      const message = document.createElement("p");
      message.className = "vitedu-widget-error";
      message.role = "alert";
      message.textContent = `${WORDS.failed} ${error.message}`;
      place.replaceChildren(message);
    }
  }

  // A few windows away, above or below: a picture of a whole page shows what
  // its first third explains.
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) mount(target);
    }
  }, { rootMargin: "400% 0px" });

  for (const script of document.querySelectorAll(`[type="${VIEW}"]`)) {
    const place = document.createElement("div");
    place.className = "vitedu-widget";
    script.before(place);
    waiting.add(place);
    if (address) near.observe(place);
    else mount(place);
  }

  function mountAll() {
    for (const place of waiting) mount(place);
  }

  // The next stop of the Tab key may be in a widget, however far away.
  addEventListener("keydown", mountAll, { once: true });

  // What is in the page by then is printed.
  addEventListener("beforeprint", mountAll);

  // The address may lead into one (vitedu/widgets/tools.js).
  function lookForOne() {
    if (location.hash.startsWith("#explorer-")) mountAll();
  }
  lookForOne();
  addEventListener("hashchange", lookForOne);

  // A page in the back-forward cache comes back with its widgets alive.
  addEventListener("pagehide", (event) => event.persisted || gone.abort());
})();
