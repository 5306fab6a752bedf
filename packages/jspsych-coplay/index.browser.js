// The plugin for a page that loads jsPsych by a script: it is `jsPsychCoplay` then, as with jsPsych's own plugins.
import { makePlugin } from './plugin.js';

globalThis.jsPsychCoplay = makePlugin(globalThis.jsPsychModule.ParameterType);
