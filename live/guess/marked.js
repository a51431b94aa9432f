/** Guesses of a place on a picture. */
import { guess } from "./flow.js";
import { LOOK, picture } from "./picture.js";
import { mount } from "./shell.js";

mount("marked", guess({ picture }, LOOK));
