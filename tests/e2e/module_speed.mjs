// How fast an engine runs an environment module, through the module's own interface.

/** In the page: times a module through its own interface. */
export async function timeModule(base64) {
  const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  const { instance: { exports: e } } = await WebAssembly.instantiate(bytes, {});
  if (e.coplay_open(0) !== 0) throw new Error('the module refuses its own defaults');
  e.coplay_reset(7n);
  // A fixed stream of actions: the same in every run, and after every load.
  let inbox = new Uint16Array(0);
  const act = tick => {
    const at = e.coplay_inbox(4);
    // A view is made anew only when the memory grew, which empties the old one, or the inbox moved.
    if (inbox.length === 0 || inbox.byteOffset !== at) inbox = new Uint16Array(e.memory.buffer, at, 2);
    inbox[0] = (tick * 7 + (tick >> 3)) % 6;
    inbox[1] = (tick * 5 + (tick >> 2)) % 6;
    e.coplay_step(2);
  };
  // Long rounds: some browsers tell the time in whole milliseconds.
  const STEPS = 400_000;
  const time = work => {
    const times = [];
    for (let round = 0; round < 5; round++) {
      const start = performance.now();
      for (let i = 0; i < STEPS; i++) {
        // The horizon is never reached, where a step would have nothing to do.
        if (i % 500 === 0) e.coplay_reset(BigInt(i));
        work(i);
      }
      times.push((performance.now() - start) * 1_000 / STEPS);
    }
    return times.sort((a, b) => a - b)[times.length >> 1];
  };
  const step_us = time(act);

  e.coplay_reset(7n);
  for (let tick = 0; tick < 100; tick++) act(tick);
  e.coplay_save(0);
  const rollback = () => {
    e.coplay_load(0);
    for (let tick = 100; tick < 110; tick++) {
      act(tick);
      e.coplay_save(1 + tick % 12);
    }
  };
  rollback();
  const first = e.coplay_digest();
  const ROLLBACKS = 40_000;
  const times = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    for (let i = 0; i < ROLLBACKS; i++) rollback();
    times.push((performance.now() - start) * 1_000 / ROLLBACKS);
  }
  const again = e.coplay_digest();
  return { step_us, rollback_us: times.sort((a, b) => a - b)[times.length >> 1], first: `${first}`, again: `${again}` };
}
