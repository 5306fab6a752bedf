// A page out of sight has its timers slowed down; those of a worker continue. The page asks for each beat, in so many
// milliseconds; its earlier requests do not count any more.
let timer;
onmessage = ({ data: ms }) => {
  clearTimeout(timer);
  timer = setTimeout(() => postMessage(0), ms);
};
