// A page out of sight has its timers slowed down; those of a worker go on. Every beat makes the page tick.
setInterval(() => postMessage(0), 4);
