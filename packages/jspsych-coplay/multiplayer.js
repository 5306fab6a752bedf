// The adapter for a jsPsych that has an interface for several participants. It has the shape of the one that is proposed as
// `jsPsych.multiplayer`: https://github.com/jspsych/jsPsych/pull/3694.

/** The identifier of the participant of this page. */
const SELF = 'self';
/** The keys of an entry, which `push` gets back from `update`. */
const GIVEN = ['seat', 'is_ai', 'is_here', 'messages'];

/** The interface of this jsPsych for several participants, if it has one. */
export const findMultiplayer = jsPsych =>
  [jsPsych.multiplayer, jsPsych.pluginAPI?.multiplayer].find(found => typeof found?.connect === 'function');

/** Makes the adapter of a `plugin`, the class. */
export const makeAdapter = plugin => {
  const stops = new Set();
  const getAll = () => {
    const group = plugin.group();
    if (!group) return {};
    // Seats are those of the stage.
    const written = plugin.messages().filter(({ stage }) => stage === group.stage);
    const entry = ({ seat, is_ai, is_here }) =>
      ({ seat, is_ai, is_here, messages: written.filter(message => message.seat === seat).map(({ text }) => text) });
    const own = { seat: group.seat, is_ai: false, is_here: true };
    const partners = group.partners.map(partner => [`seat-${partner.seat}`, entry(partner)]);
    return Object.fromEntries([[SELF, entry(own)], ...partners]);
  };
  return {
    participantId: SELF,
    connect: async () => {},
    getAll,
    get: participantId => getAll()[participantId],
    subscribe(callback) {
      const stop = plugin.subscribe(() => callback(getAll()));
      stops.add(stop);
      return () => { stops.delete(stop); stop(); };
    },
    async push({ text, ...others }) {
      const unknown = Object.keys(others).filter(key => !GIVEN.includes(key));
      if (unknown.length > 0) {
        throw new Error(`jspsych-coplay: a group has no place for ${unknown.join(', ')}; push {text: "…"}, which is a message of its chat`);
      }
      if (text !== undefined) plugin.send(text);
    },
    async disconnect() {
      stops.forEach(stop => stop());
      stops.clear();
    },
  };
};
