// What runs beside the page: it holds the network, takes a photograph and
// answers questions about it.

import { makeNetwork } from "./own_photograph_network.js";
import {
  asColours, averaged, centreSquare, normalised, principalComponents,
} from "./own_photograph_pixels.js";

// To a side, of bare pixels: as vitedu.pretrained.probes has them.
const SQUARES = 16;

// A picture as pixels, (row, column, 4). Transparent is laid on white; one of
// more than 16 million pixels is scaled down first.
function pixelsOf(picture) {
  const pixels = picture.width * picture.height;
  const scale = Math.min(1, Math.sqrt(16e6 / pixels));
  const [width, height] = [picture.width, picture.height].map((length) =>
    Math.max(1, Math.round(scale * length)));
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, width, height);
  picture.close();
  return context.getImageData(0, 0, width, height);
}

// The mean of rows, (row, width).
function meanOf(rows, width) {
  const mean = new Float64Array(width);
  rows.forEach((value, i) => (mean[i % width] += value));
  return mean.map((total) => total * width / rows.length);
}

// Answers {id, method, ...} with {id, result} or {id, fault}; between them it
// tells how far it is, {progress}. A photograph is first shown on the smallest
// of the `grids`.
function serve() {
  let network;
  let grids;
  let run = 0;
  // Where the class token looks most in the last block, in shares of the
  // side, (down, across): the mean over all heads and three by three patches.
  function subjectOf(grid) {
    const { num_layers: layers, num_heads: heads } = network.config;
    const all = network.attention(grid, layers - 1, -1);
    const count = 1 + grid * grid;
    const inside = (at) => Math.min(grid - 1, Math.max(0, at));
    let [most, place] = [-1, null];
    for (let patch = 0; patch < grid * grid; patch += 1) {
      const [row, column] = [Math.floor(patch / grid), patch % grid];
      let sum = 0;
      for (let near = 0; near < 9 * heads; near += 1) {
        const down = inside(row + Math.floor(near / 3) % 3 - 1);
        const across = inside(column + near % 3 - 1);
        sum += all[Math.floor(near / 9) * count + 1 + down * grid + across];
      }
      if (sum > most) {
        [most, place] = [sum, [row, column].map((at) => (at + 0.5) / grid)];
      }
    }
    return place;
  }
  // Other messages are read between two blocks.
  const pause = () => new Promise((done) => setTimeout(done));
  const methods = {
    async open({ file, header, grids: wanted }) {
      grids = wanted;
      network = await makeNetwork(file, header, grids);
      const { num_layers: layers, num_heads: heads } = network.config;
      const { d_model: width, patch_size: patch } = network.config;
      return { kernel: network.kind, bytes: network.bytes, layers, heads,
        width, patch };
    },
    async show({ picture }) {
      const mine = (run += 1);
      const pixels = pixelsOf(picture);
      const side = network.config.patch_size;
      for (const grid of grids) {
        const square = centreSquare(pixels, grid * side);
        postMessage({ progress: { grid, done: 0, square } });
        const image = normalised(square, network.config);
        const whole = await network.run(image, grid, async (done) => {
          postMessage({ progress: { grid, done } });
          await pause();
          return mine === run;
        });
        if (!whole) return false;
        postMessage({ progress: { grid, subject: subjectOf(grid) } });
      }
      return true;
    },
    // What every block makes of a photograph on the smallest grid: `means`
    // over the patches, (block, d_model); `tokens`, the patches themselves,
    // (block, patch, d_model), if they are `wanted`; `pixels`, averaged over
    // squares; `square`, what it was seen as, if `wanted`, too. Null where it
    // was stopped.
    async features({ picture, wanted }) {
      const mine = (run += 1);
      const [grid] = grids;
      const { num_layers: layers, d_model: width, patch_size: patch } =
        network.config;
      const square = centreSquare(pixelsOf(picture), grid * patch);
      const image = normalised(square, network.config);
      const means = new Float32Array(layers * width);
      const each = grid * grid * width;
      const tokens = wanted ? new Float32Array(layers * each) : null;
      const whole = await network.run(image, grid, async (done) => {
        const patches = network.stream(grid).subarray(width);
        means.set(meanOf(patches, width), (done - 1) * width);
        tokens?.set(patches, (done - 1) * each);
        postMessage({ progress: { done } });
        await pause();
        return mine === run;
      });
      const pixels = averaged(image, grid * patch, SQUARES);
      return whole ? { means, tokens, pixels, square: wanted ? square : null }
        : null;
    },
    stop() {
      run += 1;
    },
    colours({ grid, layer }) {
      const { d_model: width } = network.config;
      const patches = network.tokens(grid, layer).subarray(width);
      return asColours(principalComponents(patches, width));
    },
    ask({ grid, layer, patch }) {
      return {
        similarity: network.similarity(grid, layer, patch),
        attention: network.attention(grid, layer, patch),
      };
    },
  };
  onmessage = async ({ data: { id, method, ...given } }) => {
    try {
      postMessage({ id, result: await methods[method](given) });
    } catch (error) {
      postMessage({ id, fault: String(error.message ?? error) });
    }
  };
}

serve();
