// A Vision Transformer looks at the reader's own photograph, in the page.

import { button, noted, panel, range, titled } from "./core/controls.js";
import { fill, html, write } from "./core/dom.js";
import { explorer, onTraits, onceAFrame, setTraits } from "./core/frame.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./own_photograph.words.json" with { type: "json" };
import { glow } from "./lit_photograph.js";
import { canLoad, openNetwork } from "./own_photograph_loading.js";
import { halfOf, newestOnly, picture } from "./own_photograph_pictures.js";
import { photographButtons, progressLine } from "./photograph_door.js";
import DOOR from "./photograph_door.words.json" with { type: "json" };

// A photograph is first shown on the smaller one.
const GRIDS = [16, 32];
const PICTURES = ["photograph", "similarity", "colours", "attention"];
const KEYS = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
};

const percent = (share) => `${tidy(100 * share, 2)}%`;

// The lines above the pictures: a button that begins, ways to give a
// photograph, how far things are, and what went wrong.
function entrance({ onStart, onPhotograph }) {
  const start = button(WORDS.start, onStart);
  const offer = html(
    "div", { class: "offer" },
    ...photographButtons(WORDS.choose, ([file]) => onPhotograph(file)),
    html("span", { text: WORDS.drop }),
  );
  const { root: progress, go, rest } = progressLine();
  const fault = html("p", { class: "fault", role: "status" });

  // One of: "start", "offer", "nothing".
  function invite(what) {
    start.hidden = what !== "start";
    offer.hidden = what !== "offer";
  }
  // What went wrong; "" is nothing.
  function complain(words) {
    write(fault, words);
  }
  invite("nothing");
  const roots = [start, offer, progress, fault];
  return { roots, invite, go, rest, complain };
}

function render({ model, el }) {
  const frame = explorer(el, "own-photograph", WORDS);
  const tools = makeTools(frame, model, { alone: false });
  let worker = null;
  let sizes = { layers: 1, heads: 1 };
  // The grid is 0 until a photograph has been seen. `chosen`, and `under` the
  // mouse, are places in shares of the side; the subject is chosen until the
  // reader chooses.
  let grid = 0;
  let given = 0;
  let photograph = 0;
  let chosen = null;
  let under = null;
  let answer = null;
  let pixels = null;
  let coloured = "";
  let began = 0;

  const pointing = {
    look: (place) => {
      under = place;
      redraw();
    },
    pick: (place) => {
      [chosen, under] = [place, null];
      redraw();
    },
  };
  const door = entrance({ onStart: open, onPhotograph: see });
  const pictures = Object.fromEntries(
    PICTURES.map((name) => [name, picture(name, pointing)]));
  const titles = PICTURES.map(() => titled(""));
  const notes = PICTURES.map(() => noted(""));
  const slider = (name, all) => range({
    label: WORDS[name], min: 0, max: 0, value: 0,
    format: (at) => sentence(WORDS.ofAll, { number: at + 1, all: sizes[all] }),
    onInput: (at) => setTraits(model, { [name]: at }),
  });
  const layers = slider("layer", "layers");
  const heads = slider("head", "heads");
  const seen = html(
    "div", { hidden: "" },
    html("div", { class: "vitedu-controls" }, layers.root, heads.root),
    html("div", { class: "panels" }, ...PICTURES.map((name, i) =>
      panel(name, titles[i], pictures[name].root, notes[i]))),
    ...frame.reading,
  );
  fill(pictures.photograph.root, {
    tabindex: "0", role: "application", "aria-label": WORDS.picker,
    onkeydown: onKey,
  }, []);

  function inGrid(place) {
    return place.map((share) => Math.floor(share * grid));
  }
  function onKey(event) {
    const move = KEYS[event.key];
    if (!move) return;
    event.preventDefault();
    pointing.pick(inGrid(chosen).map((at, i) =>
      (Math.min(grid - 1, Math.max(0, at + move[i])) + 0.5) / grid));
  }

  async function open() {
    const control = new AbortController();
    const tell = (share) => door.go(
      sentence(DOOR.loading, { percent: Math.floor(100 * share) || 0 }),
      Number.isFinite(share) ? share : null, () => control.abort());
    door.invite("nothing");
    door.complain("");
    tell(0);
    try {
      const { worker: ready, opened } = await openNetwork(model, {
        grids: GRIDS, signal: control.signal, onLoading: tell, onProgress,
        onOpening: () => door.go(DOOR.opening, null),
      });
      [worker, sizes] = [ready, opened];
      layers.setMax(sizes.layers - 1);
      heads.setMax(sizes.heads - 1);
      frame.publish({ kernel: opened.kernel, bytes: opened.bytes });
      door.invite("offer");
      door.rest();
    } catch (error) {
      door.invite("start");
      door.rest();
      door.complain(control.signal.aborted ? DOOR.cancelled
        : sentence(DOOR.notLoaded, { message: error.message }));
    }
  }

  // What is no photograph is refused here, whatever the network is doing; the
  // one before it stays.
  async function see(file) {
    const turn = (given += 1);
    door.complain("");
    let picture;
    try {
      picture = await createImageBitmap(file);
    } catch (error) {
      const words = sentence(DOOR.notSeen, { message: error.message });
      if (turn === given) door.complain(words);
      return;
    }
    if (turn !== given || !worker) {
      picture.close();
      return;
    }
    const mine = (photograph += 1);
    began = performance.now();
    [grid, answer, chosen, seen.hidden] = [0, null, null, true];
    door.go(WORDS.decoding, null);
    let whole = true;
    try {
      whole = await worker.call("show", { picture }, [picture]);
    } catch (error) {
      door.complain(sentence(DOOR.notSeen, { message: error.message }));
    }
    if (mine !== photograph) return;
    door.rest();
    if (!whole) door.complain(DOOR.cancelled);
  }

  function onProgress({ grid: size, done, square, subject }) {
    if (square) {
      const side = Math.sqrt(square.length / 3);
      pixels = pictures.photograph.draw(side, (i) =>
        [0, 1, 2].map((c) => 255 * square[c * side * side + i]));
    }
    if (subject) {
      grid = size;
      chosen ??= subject;
      seen.hidden = false;
      redraw();
      return;
    }
    const words = { grid: size, done, layers: sizes.layers };
    door.go(sentence(WORDS.seeing, words), done / sizes.layers, () =>
      worker.call("stop"));
  }

  const colour = newestOnly(async (size, layer, key) => {
    const colours = await worker.call("colours", { grid: size, layer });
    if (!key.startsWith(`${photograph} `)) return;
    pictures.colours.draw(size, (i) => colours.subarray(3 * i, 3 * i + 3));
    const seconds = (performance.now() - began) / 1000;
    frame.publish({ coloured: key, seconds });
  });
  const ask = newestOnly(async (size, layer, patch, mine) => {
    const found = await worker.call("ask", { grid: size, layer, patch });
    if (mine !== photograph) return;
    answer = { ...found, grid: size, layer, patch };
    update();
  });

  // Asks for what is not there yet, and draws what is.
  function update() {
    if (!grid) return;
    const layer = Math.min(model.get("layer"), sizes.layers - 1);
    const head = Math.min(model.get("head"), sizes.heads - 1);
    layers.set(layer);
    heads.set(head);
    const key = `${photograph} ${grid} ${layer}`;
    if (key !== coloured) colour(grid, layer, (coloured = key));
    const [row, column] = inGrid(under ?? chosen);
    for (const one of Object.values(pictures)) one.mark(row, column, grid);
    const patch = row * grid + column;
    if (answer?.grid !== grid || answer.layer !== layer
      || answer.patch !== patch) {
      ask(grid, layer, patch, photograph);
    }
    if (answer) drawAnswer(head);
  }

  function drawAnswer(head) {
    const { similarity, attention, grid: size, layer, patch } = answer;
    const count = 1 + size * size;
    const [token, ...weights] =
      attention.subarray(head * count, (head + 1) * count);
    const low = Math.min(...similarity);
    const most = Math.max(...weights);
    pictures.similarity.lit(pixels, similarity.map((cosine) =>
      (cosine - low) / (1 - low)), size);
    // The eye sees the root of a small weight, and not the weight.
    pictures.attention.draw(size, (i) =>
      glow(Math.sqrt(weights[i] / most)));
    const others = size * size - 1;
    const alike = similarity.filter((cosine) => cosine > 0.5).length - 1;
    const half = halfOf(weights);
    const words = {
      grid: size, layer: layer + 1, head: head + 1, others, alike, half,
      row: 1 + Math.floor(patch / size), column: 1 + patch % size,
      low: tidy(low, 2), most: percent(most), token: percent(token),
    };
    PICTURES.forEach((name, i) => {
      write(titles[i], sentence(WORDS.titles[name], words));
      write(notes[i], sentence(WORDS.notes[name], words));
    });
    frame.read(sentence(WORDS.patch, words), { speak: under === null });
    frame.publish({
      grid: size, layer, head, patch, alike, half, low, most, token,
    });
  }

  function give(event, { files: [file] }) {
    if (!file) return;
    event.preventDefault();
    if (here) see(file);
  }
  const onPaste = (event) => give(event, event.clipboardData);
  document.addEventListener("paste", onPaste);
  fill(frame.root, {
    ondragover: (event) => event.preventDefault(),
    ondrop: (event) => give(event, event.dataTransfer),
  }, []);

  const here = canLoad(model);
  if (here) door.invite("start");
  frame.root.append(
    html("p", { class: "about", text: here ? WORDS.about : WORDS.absent }),
    ...door.roots, seen,
    ...(here ? tools.foot : []),
  );
  const redraw = onceAFrame(update);
  const ignore = onTraits(model, ["layer", "head"], redraw);
  return () => {
    ignore();
    redraw.cancel();
    document.removeEventListener("paste", onPaste);
    worker?.dispose();
    tools.dispose();
    frame.dispose();
  };
}

export default { render };
