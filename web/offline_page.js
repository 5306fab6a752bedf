// The page of a study without a server: a Worker has the server's part, and this is the page's way to it.

const named = name => document.querySelector(`meta[name="${name}"]`)?.content;
const worker = new Worker(new URL("offline_worker.js", import.meta.url), { type: "module" });
let connection;
let asked = Promise.resolve();

// As much of a WebSocket as the client uses.
class LocalSocket extends EventTarget {
  constructor() {
    super();
    connection?.lose();
    connection = this;
    worker.postMessage({ open: true });
  }

  send(bytes) {
    if (connection === this) worker.postMessage({ message: bytes.slice() });
  }

  close() {
    if (connection !== this) return;
    worker.postMessage({ close: true });
    this.lose();
  }

  lose() {
    if (connection === this) connection = undefined;
    this.dispatchEvent(new Event("close"));
  }
}

worker.addEventListener("message", ({ data }) => {
  if (data.opened) connection?.dispatchEvent(new Event("open"));
  if (data.message) connection?.dispatchEvent(new MessageEvent("message", { data: data.message.buffer }));
  if (data.closed) connection?.lose();
  if (data.unknown) beginAnew();
  if (data.fault) fail(data.fault);
});
worker.addEventListener("error", event => fail(event.message || "the Worker could not be started"));

// The browser remembers a session whose data it no longer has: the person begins a new one.
const beginAnew = () => {
  for (const name of ["coplay.session", "coplay.link"]) {
    localStorage.removeItem(location.pathname === "/" ? name : `${name} ${location.pathname}`);
  }
  location.reload();
};

// What keeps the server's part from going on. Before the client is there, `failed` has it.
let failed;
const fail = fault => {
  failed = fault;
  console.error(fault);
  globalThis.coplay?.fail(fault);
  connection?.lose();
};

// Asks the Worker for something, one after the other.
const ask = question => {
  const answer = asked.then(() => new Promise(resolve => {
    const hear = ({ data }) => {
      if (!("answer" in data)) return;
      worker.removeEventListener("message", hear);
      resolve(data.answer);
    };
    worker.addEventListener("message", hear);
    worker.postMessage(question);
  }));
  asked = answer.catch(() => {});
  return answer;
};

globalThis.coplayOffline = {
  openSocket: () => new LocalSocket(),
  hasAddress: () => Boolean(named("coplay-post")),
  // Gives everything that is not handed over yet as a file that the person saves; true once they have it.
  async save() {
    const { file, name } = await ask({ file: true }) ?? {};
    if (!file) throw new Error("the data cannot be read in this browser");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file], { type: "application/octet-stream" }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    return true;
  },
  // Posts it to the address that the study names; true if it has arrived.
  post: () => ask({ post: named("coplay-post") }),
  // Deletes what this page has stored; true if it is gone.
  forget: () => ask({ forget: true }),
  fault: () => failed,
};

worker.postMessage({
  start: {
    bundle: new URL(named("coplay-study"), document.baseURI).href,
    place: location.pathname,
  },
});
