// How the network comes to the page: once, when the reader asks for it.

// The way from a page of the site to its files. A deck of slides has none, and
// a notebook needs none.
function rootOfSite() {
  return document.documentElement.dataset.content_root;
}

export function canLoad(model) {
  const inNotebook = globalThis.viteduWidgetState === undefined;
  return model.get("network") && (inNotebook || rootOfSite() !== undefined);
}

// Loads the network and starts the worker that runs it: resolves to {worker,
// opened}, `opened` being what the worker says of it. `onLoading` is told the
// share that is there, `onProgress` what the worker tells later.
export async function openNetwork(model, {
  grids, signal, onLoading, onOpening, onProgress,
}) {
  let worker;
  try {
    const file = await loadNetwork(model, signal, onLoading);
    signal.throwIfAborted();
    onOpening();
    const header = readHeader(file);
    worker = startWorker(file, header, onProgress);
    const opened = await worker.call(
      "open", { file, header, grids }, [file.buffer]);
    return { worker, opened };
  } catch (error) {
    worker?.dispose();
    throw error;
  }
}

// Resolves to the bytes of the file that the build wrote, or that a running
// kernel sends. `onProgress` is told the share that is there.
function loadNetwork(model, signal, onProgress) {
  if (rootOfSite() === undefined) return fromKernel(model, signal);
  const address = `${rootOfSite()}_static/networks/${model.get("network")}`;
  return location.protocol === "file:"
    ? fromScripts(address, signal, onProgress)
    : fromHost(`${address}.bin`, signal, onProgress);
}

async function fromHost(address, signal, onProgress) {
  const answer = await fetch(address, { signal });
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  // A host that compresses the file tells how long the compressed one is.
  const whole = answer.headers.get("Content-Encoding")
    ? NaN : Number(answer.headers.get("Content-Length"));
  const parts = [];
  let length = 0;
  for (const reader = answer.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    onProgress(length / whole);
  }
  return joined(parts);
}

function joined(parts) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

// From disk a page may load scripts only. Each holds a part of the file in
// base 64, and says which of how many.
async function fromScripts(address, signal, onProgress) {
  const parts = [];
  for (let part = 0, of = 1; part < of; part += 1) {
    signal.throwIfAborted();
    const loaded = await loadScript(`${address}.${part}.js`);
    of = loaded.of;
    parts.push(decoded(loaded.data));
    onProgress((part + 1) / of);
  }
  return joined(parts);
}

function decoded(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function loadScript(address) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.onload = () => {
      script.remove();
      done(globalThis.viteduNetworkPart);
      delete globalThis.viteduNetworkPart;
    };
    script.onerror = () => failed(new Error(address));
    script.src = address;
    document.head.append(script);
  });
}

// In a notebook.
export function fromKernel(model, signal) {
  return new Promise((done, failed) => {
    function onMessage({ network }, [bytes]) {
      if (!network) return;
      model.off("msg:custom", onMessage);
      done(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    }
    model.on("msg:custom", onMessage);
    signal.addEventListener("abort", () => {
      model.off("msg:custom", onMessage);
      failed(signal.reason);
    });
    model.send({ network: true });
  });
}

// The header of a file that `pack_network` wrote, and where arrays begin.
export function readHeader(file) {
  const { buffer, byteOffset } = file;
  const length = new DataView(buffer, byteOffset).getUint32(0, true);
  const text = new TextDecoder().decode(file.subarray(4, 4 + length));
  const start = Math.ceil((4 + length) / 16) * 16;
  return { ...JSON.parse(text), start };
}

// An array of bytes in it.
function bytesOf(file, { arrays, start }, name) {
  const [at, , [length]] = arrays[name];
  return file.subarray(start + at, start + at + length);
}

// The worker whose script is in the file, and a way to call its methods; see
// own_photograph_worker.js.
function startWorker(file, header, onProgress) {
  const blob = new Blob(
    [bytesOf(file, header, "worker")], { type: "text/javascript" });
  const address = URL.createObjectURL(blob);
  const worker = new Worker(address);
  const waiting = new Map();
  let last = 0;
  worker.onmessage = ({ data: { id, result, fault, progress } }) => {
    if (progress) {
      onProgress(progress);
      return;
    }
    const { done, failed } = waiting.get(id);
    waiting.delete(id);
    if (fault === undefined) done(result);
    else failed(new Error(fault));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    for (const { failed } of waiting.values()) failed(new Error(event.message));
    waiting.clear();
  };
  function call(method, given = {}, transfer = []) {
    return new Promise((done, failed) => {
      last += 1;
      waiting.set(last, { done, failed });
      worker.postMessage({ id: last, method, ...given }, transfer);
    });
  }
  function dispose() {
    worker.terminate();
    URL.revokeObjectURL(address);
  }
  return { call, dispose };
}
