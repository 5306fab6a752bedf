// A page out of sight has its timers slowed down; those of a worker go on. A beat waits until the one before
// is answered, so that a busy page is not buried in them.
let waits = false;
onmessage = () => { waits = false; };
setInterval(() => {
  if (waits) return;
  waits = true;
  postMessage(0);
}, 4);
