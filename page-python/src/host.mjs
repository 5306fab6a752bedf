// Steps environments in Python as a page does, in the same Pyodide, for the program.
//
// Requests and answers are frames: a u32 length, then so many bytes; integers are little-endian. A request begins with
// its kind (u8): 0 opens an archive (u32 number of the world, then the bytes); 1 calls an export (u32 number of the world,
// u8 index of the export, i64 argument, then the message for the inbox); 2 closes a world (u32 number). An answer begins
// with 0, an i64 result and the message of the outbox, or with 1 and a text.
const [folder, library, exportNames] = process.argv.slice(1);
const names = exportNames.split(",");
const { startPython, openWorld } = await import(library);
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
// What the environment prints is no answer.
const told = (line) => process.stderr.write(`${line}\n`);
const python = await startPython((options) => loadPyodide({ ...options, stdout: told, stderr: told }), `${folder}/`);
const worlds = new Map();

/** Exports that give a message of the length that they return; a step gives one of a length of its own. */
const MESSAGES = new Set(["facts", "observe", "describe", "draw", "draw_for", "state", "plain"].map((name) => `coplay_${name}`));

function write(...parts) {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  process.stdout.write(Buffer.concat([head, body]));
}

/** The frames of the input; it ends when the input does. */
async function* frames() {
  let held = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    held = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
    while (held.length >= 4 && held.length >= 4 + held.readUInt32LE()) {
      const end = 4 + held.readUInt32LE();
      yield held.subarray(4, end);
      held = held.subarray(end);
    }
  }
}

function lengthOfStep({ memory, seats, components = 0 }, at) {
  const events = new DataView(memory.buffer).getUint32(at + seats * 4 + 8, true);
  return seats * 4 + 12 + 8 * events + 4 * seats * components;
}

function messageOf(world, name, result) {
  const at = world.coplay_outbox();
  let length = 0;
  if (MESSAGES.has(name)) length = Number(result);
  else if (name === "coplay_open") length = -Number(result);
  else if (name === "coplay_step") length = lengthOfStep(world, at);
  const message = Buffer.from(new Uint8Array(world.memory.buffer, at, length));
  // How long the message of a step is depends on the parts of a reward.
  if (name === "coplay_facts") world.components = JSON.parse(message).spec.components?.length ?? 0;
  return message;
}

function call(request) {
  const world = worlds.get(request.readUInt32LE(1));
  const name = names[request.readUInt8(5)];
  const argument = request.readBigInt64LE(6);
  const message = request.subarray(14);
  if (message.length > 0) new Uint8Array(world.memory.buffer, world.coplay_inbox(message.length), message.length).set(message);
  if (name === "coplay_step") world.seats = Math.min(Number(argument), 16);
  const result = world[name](name === "coplay_reset" ? argument : Number(argument)) ?? 0;
  const number = Buffer.alloc(9);
  number.writeBigInt64LE(BigInt(result), 1);
  write(number, messageOf(world, name, result));
}

for await (const request of frames()) {
  try {
    const kind = request.readUInt8();
    const number = request.readUInt32LE(1);
    if (kind === 1) {
      call(request);
      continue;
    }
    if (kind === 0) worlds.set(number, await openWorld(python, "world", new Uint8Array(request.subarray(5))));
    else {
      worlds.get(number)?.close();
      worlds.delete(number);
    }
    write(Buffer.alloc(9));
  } catch (error) {
    write(Buffer.from([1]), Buffer.from(String(error.message ?? error)));
  }
}
