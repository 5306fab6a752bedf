// The Worker of a study without a server: runs the server's part, and keeps its journal in the browser's database.
// What happens becomes a record. It counts once the database has it.
import init, { OfflineWorker, is_newcomer, is_returning, make_superseded, seal_records } from "./offline_wasm.js";

// Pauses before the data are posted again, milliseconds.
const PAUSES = [1_000, 3_000, 9_000];

const startedMs = Date.now() - performance.now();
const nowUs = () => Math.floor((startedMs + performance.now()) * 1_000);

let server, database, journal, timer;
let waiting = [];
let isBusy = false;
let isOver = false;
// Messages that came before the server's part was ready.
let early = [];

const done = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const whole = transaction => new Promise((resolve, reject) => {
  transaction.oncomplete = resolve;
  transaction.onerror = transaction.onabort = () => reject(transaction.error);
});

const openDatabase = name => {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("journals", { keyPath: "id", autoIncrement: true });
    request.result.createObjectStore("records");
  };
  return done(request);
};

const change = stores => database.transaction(stores, "readwrite", { durability: "strict" });
const everyJournal = () => done(database.transaction("journals").objectStore("journals").getAll());
const recordsOf = id => done(database.transaction("records").objectStore("records").getAll(IDBKeyRange.bound([id, 0], [id, Infinity])));

const joined = parts => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
};

// Begins a journal, with its first record.
const begin = async () => {
  const first = server.begin(nowUs(), crypto.getRandomValues(new Uint8Array(32)));
  const transaction = change(["journals", "records"]);
  const id = await done(transaction.objectStore("journals").add({ version: server.version(), isSent: false }));
  transaction.objectStore("records").add(first, [id, 0]);
  await whole(transaction);
  journal = { id, next: 1 };
};

// Continues the newest journal of this version; false if there is none.
const resume = async () => {
  const known = (await everyJournal()).filter(({ version }) => version === server.version());
  const id = known.at(-1)?.id;
  if (id === undefined) return false;
  const records = await recordsOf(id);
  const end = server.resume(nowUs(), joined(records));
  journal = { id, next: records.length };
  if (end.length > 0) await store([end]);
  return true;
};

const send = (message, more = {}) => postMessage({ message, ...more }, [message.buffer]);

const deliver = () => {
  for (let message = server.poll_message(); message; message = server.poll_message()) send(message);
  if (server.is_closed()) postMessage({ closed: true });
  clearTimeout(timer);
  const dueMs = server.due_in_ms(nowUs());
  if (dueMs !== undefined && !isOver) timer = setTimeout(wake, Math.min(dueMs, 60_000));
};

const wake = () => {
  server.advance(nowUs());
  deliver();
};

const stop = fault => {
  isOver = true;
  clearTimeout(timer);
  postMessage({ fault });
};

const store = async records => {
  const transaction = change("records");
  transaction.objectStore("records").add(joined(records), [journal.id, journal.next]);
  await whole(transaction);
  journal.next += 1;
};

// Stores what has happened, and lets it happen.
const flush = async () => {
  if (isBusy || isOver || waiting.length === 0) return;
  isBusy = true;
  const batch = waiting;
  waiting = [];
  try {
    await store(batch);
  } catch (error) {
    return stop(`this browser could not keep the data: ${error?.message ?? error}`);
  }
  server.apply(batch.length);
  isBusy = false;
  deliver();
  flush();
};

const note = record => {
  waiting.push(record);
  flush();
};

// The first message says whether somebody new begins; all before it is still to be noted.
let isFirst = true;
const choose = async message => {
  if (is_newcomer(message)) await begin();
  else if (!journal && !await resume()) {
    // A link begins a journal. A session whose journal is gone, or of an older version of the site, begins anew.
    if (is_returning(message)) return false;
    await begin();
  }
  return true;
};

const hear = async data => {
  if (data.open) {
    isFirst = true;
    postMessage({ opened: true });
  }
  if (data.message && !isOver) {
    if (isFirst && !await choose(data.message)) {
      return postMessage({ unknown: true });
    }
    if (isFirst) note(server.open(nowUs()));
    isFirst = false;
    note(server.receive(nowUs(), data.message));
  }
  if (data.close && journal && !isFirst) note(server.close(nowUs()));
};

// Everything of this study in this browser that nobody has yet.
const makeFile = async () => {
  const open = (await everyJournal()).filter(({ isSent }) => !isSent);
  const records = [];
  for (const { id } of open) records.push(...await recordsOf(id));
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  return { file: seal_records(joined(records)), name: `study-${stamp}.coplay-journal`, ids: open.map(({ id }) => id) };
};

const post = async address => {
  const { file, name, ids } = await makeFile();
  if (ids.length === 0) return true;
  for (const pause of [0, ...PAUSES]) {
    await new Promise(resolve => setTimeout(resolve, pause));
    try {
      // As a form sends a file: a browser asks the other server nothing before.
      const body = new FormData();
      body.append("file", new Blob([file]), name);
      const answer = await fetch(address, { method: "POST", body, credentials: "omit", referrerPolicy: "no-referrer" });
      if (!answer.ok) continue;
    } catch {
      continue;
    }
    const transaction = change("journals");
    const store = transaction.objectStore("journals");
    for (const id of ids) store.put({ ...await done(store.get(id)), isSent: true });
    await whole(transaction).catch(() => {});
    return true;
  }
  return false;
};

// Another window of the study takes over: two would write one journal.
const hold = name => new Promise(resolve => {
  if (!navigator.locks) return resolve();
  const held = navigator.locks.request(name, { steal: true }, () => new Promise(() => resolve()));
  held.catch(() => {
    isOver = true;
    clearTimeout(timer);
    send(make_superseded());
    postMessage({ closed: true });
  });
});

const start = async ({ bundle, place }) => {
  const name = `coplay ${place}`;
  const [, file] = await Promise.all([init({ module_or_path: new URL("offline_wasm_bg.wasm", import.meta.url) }), fetch(bundle), hold(name)]);
  if (!file.ok) throw new Error(`${bundle} cannot be loaded`);
  server = new OfflineWorker(new Uint8Array(await file.arrayBuffer()));
  database = await openDatabase(name);
  const missed = early;
  early = undefined;
  for (const data of missed) handle(data);
};

// One after the other: each may wait for the database.
let heard = Promise.resolve();
const handle = data => {
  heard = heard.then(() => hear(data)).catch(error => stop(String(error?.message ?? error)));
};

onmessage = ({ data }) => {
  if (data.start) start(data.start).catch(error => stop(String(error?.message ?? error)));
  else if (data.file) makeFile().then(answer => postMessage({ answer }), error => stop(String(error)));
  else if (data.post) post(data.post).then(answer => postMessage({ answer }), () => postMessage({ answer: false }));
  else if (early) early.push(data);
  else handle(data);
};
