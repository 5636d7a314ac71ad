// The classes and photographs of a reader, and the network that looks at them
// one after the other. Nothing of it is kept when the page closes.

import { decodeArray, inRows } from "./core/arrays.js";
import { html } from "./core/dom.js";
import { sentence } from "./core/texts.js";
import { canLoad, openNetwork } from "./own_photograph_loading.js";
import DOOR from "./photograph_door.words.json" with { type: "json" };
import WORDS from "./teach_it.words.json" with { type: "json" };
import { evidenceOf } from "./teach_it_maths.js";

export const GRID = 16;
export const MOST = { classes: 5, photographs: 20 };
const THUMBNAIL = 56;
// While photographs are still to come, fits take one part in so many of the
// time.
const SELDOM = 10;

// The centre square of a picture, small.
function thumbnailOf(picture) {
  const root = html("canvas", { width: THUMBNAIL, height: THUMBNAIL });
  const side = Math.min(picture.width, picture.height);
  const context = root.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, (picture.width - side) / 2,
    (picture.height - side) / 2, side, side, 0, 0, THUMBNAIL, THUMBNAIL);
  return root;
}

// A photograph to be looked at. `source`, a file or pixels, is decoded again
// when it is its turn, because decoded photographs are large.
async function photographOf(source) {
  const picture = await createImageBitmap(source);
  const thumbnail = thumbnailOf(picture);
  picture.close();
  return { source, thumbnail };
}

function builtInPhotograph(bytes) {
  const side = Math.sqrt(bytes.length);
  const source = new ImageData(side, side);
  bytes.forEach((byte, i) => source.data.set([byte, byte, byte, 255], 4 * i));
  const thumbnail = html("canvas", { width: side, height: side });
  thumbnail.getContext("2d").putImageData(source, 0, 0);
  return { source, thumbnail };
}

function builtInPhotographs(array) {
  const { data, shape } = decodeArray(array);
  return inRows(data, shape.at(-1) ** 2).map(builtInPhotograph);
}

function builtInClasses(model) {
  const names = model.get("names");
  const photographs = builtInPhotographs(model.get("pictures"));
  const each = photographs.length / names.length;
  return names.map((name, at) =>
    ({ name, photographs: photographs.slice(at * each, (at + 1) * each) }));
}

const emptyClass = (number) =>
  ({ name: sentence(WORDS.newName, { number }), photographs: [] });
const isPending = ({ means }) => !means;
const seenIn = ({ photographs }) =>
  photographs.filter((one) => !isPending(one));

// What is taught: which classes, by which photographs; or what is missing.
function lessonOf(classes) {
  const taught = classes.filter(({ photographs }) => photographs.length);
  if (taught.length < 2) return { missing: "classes" };
  const seen = taught.map(seenIn);
  if (taught.some(({ photographs }) => photographs.length < 2)) {
    return { missing: "photographs" };
  }
  if (seen.some((some) => some.length < 2)) return { missing: "looks" };
  const samples = seen.flatMap((some, label) =>
    some.map((photograph) => ({ ...photograph, photograph, label })));
  return { names: taught.map(({ name }) => name), samples };
}

// `redraw` is called when anything of it has changed.
export function makeStudio(model, redraw) {
  const studio = {
    canLoad: canLoad(model), set: "builtIn", opened: null, unseen: [],
    sets: { builtIn: [], own: [emptyClass(1), emptyClass(2)] },
    // What is classified, what comes next, a head out of a file.
    asked: null, asking: null, loaded: null,
    // {words, share, stop}, and what went wrong.
    busy: null, fault: "", isPaused: false,
  };
  let worker = null;
  let isRunning = false;
  let isDisposed = false;
  let changes = 0;
  let known = { key: "" };

  const classes = () => studio.sets[studio.set];
  const pending = () => classes().flatMap(({ photographs }) =>
    photographs.filter(isPending));

  function changed() {
    changes += 1;
    redraw();
  }
  function complain(words) {
    studio.fault = words;
    redraw();
  }

  // What was taught, with the head on every block: the same object as long as
  // nothing has changed.
  function lesson() {
    const key = `${studio.set} ${changes}`;
    if (known.key === key) return known;
    const found = lessonOf(classes());
    const now = performance.now();
    const waits = isRunning && known.evidence && known.set === studio.set
      && found.samples && now < known.next && pending().length;
    if (waits) return known;
    known = { ...found, key, set: studio.set };
    if (found.samples) {
      known.evidence = evidenceOf(found.samples, studio.opened.layers);
      known.next = now + (1 + SELDOM) * (performance.now() - now);
    }
    return known;
  }

  async function open() {
    const control = new AbortController();
    function tell(share) {
      studio.busy = {
        words: sentence(DOOR.loading,
          { percent: Math.floor(100 * share) || 0 }),
        share: Number.isFinite(share) ? share : null,
        stop: () => control.abort(),
      };
      redraw();
    }
    studio.fault = "";
    tell(0);
    try {
      const { worker: ready, opened } = await openNetwork(model, {
        grids: [GRID], signal: control.signal, onLoading: tell, onProgress,
        onOpening: () => {
          studio.busy = { words: DOOR.opening, share: null };
          redraw();
        },
      });
      if (isDisposed) {
        ready.dispose();
        return;
      }
      worker = ready;
      studio.opened = opened;
    } catch (error) {
      studio.fault = control.signal.aborted ? DOOR.cancelled
        : sentence(DOOR.notLoaded, { message: error.message });
    }
    studio.busy = null;
    redraw();
    goOn();
  }

  function onProgress({ done }) {
    const left = pending().length;
    const all = classes().reduce((sum, { photographs }) =>
      sum + photographs.length, 0);
    const { layers } = studio.opened;
    const values = { done, layers, number: all - left + 1, all };
    studio.busy = {
      words: sentence(studio.asking ? WORDS.asking : WORDS.looking, values),
      share: studio.asking ? done / layers
        : (all - left + done / layers) / all,
      stop,
    };
    redraw();
  }
  function stop() {
    studio.isPaused = true;
    worker?.call("stop");
  }
  function goOn() {
    studio.isPaused = false;
    pump();
  }

  // What is to be classified comes first, then the class that the network
  // knows least of. Of the built-in pictures one is classified at once.
  function nextOne() {
    const behind = classes().filter(({ photographs }) =>
      photographs.some(isPending))
      .sort((a, b) => seenIn(a).length - seenIn(b).length);
    if (!behind.length && studio.set === "builtIn" && !studio.asked) {
      studio.asking ??= studio.unseen[0];
    }
    return studio.asking ?? behind[0]?.photographs.find(isPending);
  }
  async function pump() {
    if (isRunning || !worker) return;
    isRunning = true;
    let next = nextOne();
    while (next && !studio.isPaused && !isDisposed) {
      await look(next);
      next = nextOne();
    }
    isRunning = false;
    studio.busy = null;
    changed();
  }
  async function look(photograph) {
    const wanted = photograph === studio.asking;
    try {
      const picture = await createImageBitmap(photograph.source);
      const found = await worker.call(
        "features", { picture, wanted }, [picture]);
      if (!found) return;
      Object.assign(photograph, found);
      if (studio.asking === photograph) {
        [studio.asked, studio.asking] = [photograph, null];
      }
    } catch (error) {
      studio.fault = sentence(DOOR.notSeen, { message: error.message });
      if (studio.asking === photograph) studio.asking = null;
      else forget(photograph);
    }
    changed();
  }

  function forget(photograph) {
    for (const one of [...studio.sets.builtIn, ...studio.sets.own]) {
      one.photographs = one.photographs.filter((it) => it !== photograph);
    }
    changed();
  }

  // Files for a class; those that do not fit or are no photographs are named.
  async function add(one, files) {
    studio.fault = "";
    studio.isPaused = false;
    let left = 0;
    const refused = [];
    for (const file of files) {
      if (one.photographs.length >= MOST.photographs) {
        left += 1;
        continue;
      }
      try {
        one.photographs.push(await photographOf(file));
        changed();
        pump();
      } catch {
        refused.push(file.name);
      }
    }
    const words = [
      left && sentence(WORDS.leftOut, { most: MOST.photographs, count: left }),
      refused.length && sentence(WORDS.refused,
        { count: refused.length, names: refused.slice(0, 3).join(", ") }),
    ];
    complain(words.filter(Boolean).join(" "));
  }

  // Classifies a file, or a photograph that is there already.
  async function ask(one) {
    studio.fault = "";
    studio.isPaused = false;
    try {
      studio.asking = one.thumbnail ? one : await photographOf(one);
    } catch (error) {
      complain(sentence(DOOR.notSeen, { message: error.message }));
      return;
    }
    if (one.tokens) [studio.asked, studio.asking] = [one, null];
    redraw();
    pump();
  }

  function choose(set) {
    studio.set = set;
    changed();
    goOn();
  }
  // What a head in a file has to fit.
  function sizes() {
    const { layers, width, patch } = studio.opened;
    return { layers, width, imageSize: GRID * patch };
  }
  // The classes of the head in use.
  function names() {
    return studio.loaded?.names
      ?? (studio.opened && lesson().names) ?? [];
  }
  function addClass() {
    let number = studio.sets.own.length + 1;
    const names = studio.sets.own.map(({ name }) => name);
    while (names.includes(emptyClass(number).name)) number += 1;
    studio.sets.own.push(emptyClass(number));
    changed();
  }
  function removeClass(one) {
    studio.sets.own = studio.sets.own.filter((it) => it !== one);
    changed();
  }
  function dispose() {
    isDisposed = true;
    studio.busy?.stop?.();
    worker?.dispose();
  }

  if (studio.canLoad) {
    studio.sets.builtIn = builtInClasses(model);
    studio.unseen = builtInPhotographs(model.get("unseen"));
  }
  return Object.assign(studio, {
    classes, pending, lesson, names, sizes, open, goOn, add, ask, forget,
    choose, addClass, removeClass, changed, complain, dispose,
  });
}
