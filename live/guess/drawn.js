/** Guesses of a curve. */
import { curve, LOOK } from "./curve.js";
import { guess } from "./flow.js";
import { mount } from "./shell.js";

mount("drawn", guess({ curve }, LOOK));
