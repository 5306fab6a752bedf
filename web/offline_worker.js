// The Worker of a study without a server: runs the server's part, and keeps its journal in the browser's database.
// What happens becomes a record. It counts once the database has it.
import init, { OfflineWorker, is_returning, make_superseded, seal_records } from "./offline_wasm.js";

// Pauses before the data are posted again, milliseconds.
const PAUSES = [1_000, 3_000, 9_000];

const startedMs = Date.now() - performance.now();
const nowUs = () => Math.floor((startedMs + performance.now()) * 1_000);

let server, database, journal, timer;
let waiting = [];
let flushed = Promise.resolve();
let isOver = false;
let isSuperseded = false;
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

const remove = (transaction, id) => {
  transaction.objectStore("journals").delete(id);
  transaction.objectStore("records").delete(IDBKeyRange.bound([id, 0], [id, Infinity]));
};

// The place of a journal that is used from now on: a session is looked for in the one that was used last.
const nextTurn = known => Math.max(0, ...known.map(({ turn }) => turn ?? 0)) + 1;

// Begins the journal of somebody, with its first record. What was posted is no longer needed.
const begin = async who => {
  await flushed;
  const first = server.begin(nowUs(), crypto.getRandomValues(new Uint8Array(32)));
  const transaction = change(["journals", "records"]);
  const journals = transaction.objectStore("journals");
  const known = await done(journals.getAll());
  for (const { id } of known.filter(({ isSent }) => isSent)) remove(transaction, id);
  const id = await done(journals.add({ version: server.version(), who, turn: nextTurn(known), isSent: false }));
  transaction.objectStore("records").add(first, [id, 0]);
  await whole(transaction);
  journal = { id, who, next: 1 };
};

// Continues the journal of this version that was used last, or else that of a person; false if there is none. A link
// may add something to a journal that was posted: it is posted again.
const resume = async (isLink, who) => {
  await flushed;
  const known = await everyJournal();
  const fitting = known.filter(each => each.version === server.version() && (who === undefined || each.who === who));
  const found = fitting.sort((one, other) => (one.turn ?? 0) - (other.turn ?? 0)).at(-1);
  if (!found) return false;
  const records = await recordsOf(found.id);
  const end = server.resume(nowUs(), joined(records));
  journal = { id: found.id, who: found.who, next: records.length };
  const transaction = change(["journals", "records"]);
  if (isLink) transaction.objectStore("journals").put({ ...found, turn: nextTurn(known), isSent: false });
  if (end.length > 0) add(transaction, end);
  await whole(transaction);
  if (end.length > 0) journal.next += 1;
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

const add = (transaction, record) => transaction.objectStore("records").add(record, [journal.id, journal.next]);

const store = async records => {
  // A person who has withdrawn leaves nothing more.
  if (journal.isGone) return;
  const transaction = change("records");
  add(transaction, joined(records));
  await whole(transaction);
  journal.next += 1;
};

// Stores the waiting records, and lets them take effect.
const storeWaiting = async () => {
  if (isOver || waiting.length === 0) return;
  const batch = waiting;
  waiting = [];
  try {
    await store(batch);
  } catch (error) {
    return stop(`this browser could not keep the data: ${error?.message ?? error}`);
  }
  server.apply(batch.length);
  deliver();
};

const flush = () => {
  flushed = flushed.then(storeWaiting).catch(error => stop(String(error?.message ?? error)));
};

const note = record => {
  waiting.push(record);
  flush();
};

// The first message says whose journal it is; everything before it must still be noted.
let isFirst = true;
const choose = async message => {
  // A session whose journal is gone, or of an older version of the site, begins again.
  if (is_returning(message)) return Boolean(journal) || resume(false);
  if (server.is_newcomer(message)) {
    await begin();
    return true;
  }
  const who = server.name_person(message);
  if (!await resume(true, who)) await begin(who);
  return true;
};

const hear = async data => {
  if (data.open) {
    isFirst = true;
    postMessage({ opened: true });
    // The page was not there yet when another window took over.
    if (isSuperseded) giveWay();
  }
  if (data.message && !isOver) {
    if (isFirst && !await choose(data.message)) {
      return postMessage({ unknown: true });
    }
    if (isFirst) note(server.open(nowUs()));
    isFirst = false;
    note(server.receive(nowUs(), data.message));
  }
  if (data.close && journal && !isFirst && !isOver) note(server.close(nowUs()));
};

// Everything of this study in this browser that nobody has yet.
const makeFile = async () => {
  await flushed;
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
    await noteSent(ids).catch(() => {});
    return true;
  }
  return false;
};

// What was posted leaves the browser. The journal of this page stays until the next one begins: a reload needs it.
const noteSent = async ids => {
  const transaction = change(["journals", "records"]);
  const journals = transaction.objectStore("journals");
  for (const each of await done(journals.getAll())) {
    const isSent = each.isSent || ids.includes(each.id);
    if (isSent && each.id !== journal?.id) remove(transaction, each.id);
    else journals.put({ ...each, isSent });
  }
  await whole(transaction);
};

// Somebody has withdrawn: none of their data stay here, and nothing is delivered.
const forget = async () => {
  await flushed;
  if (!journal || journal.isGone) return;
  const transaction = change(["journals", "records"]);
  remove(transaction, journal.id);
  journal.isGone = true;
  await whole(transaction);
};

const giveWay = () => {
  send(make_superseded());
  postMessage({ closed: true });
};

// Another window of the study takes over: two would write one journal.
const hold = name => new Promise(resolve => {
  if (!navigator.locks) return resolve();
  const held = navigator.locks.request(name, { steal: true }, () => new Promise(() => resolve()));
  held.catch(() => {
    isOver = isSuperseded = true;
    clearTimeout(timer);
    // The program makes the message, and may still be loading; a page that is not there yet gets it later.
    if (!early) giveWay();
    resolve();
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

// What the page asks for is always answered: with nothing if it cannot be done.
const answer = (question, failed) => ready.then(question).then(answer => postMessage({ answer }), error => {
  console.error(error);
  postMessage({ answer: failed });
});

let begun;
const ready = new Promise((resolve, reject) => { begun = { resolve, reject }; });
ready.catch(() => {});

onmessage = ({ data }) => {
  if (data.start) {
    start(data.start).then(begun.resolve, error => {
      begun.reject(error);
      stop(String(error?.message ?? error));
    });
  }
  else if (data.file) answer(makeFile, null);
  else if (data.post) answer(() => post(data.post), false);
  else if (data.forget) answer(() => forget().then(() => true), false);
  else if (early) early.push(data);
  else handle(data);
};
