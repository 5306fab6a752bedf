// The plugin for programs that are bundled: `import CoplayPlugin from "jspsych-coplay"`.
import { ParameterType } from 'jspsych';
import { makePlugin } from './plugin.js';

export default makePlugin(ParameterType);
