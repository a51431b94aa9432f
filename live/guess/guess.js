/** Guesses of a number or a choice, and how they went. */
import * as choice from "./choice.js";
import { guess } from "./flow.js";
import * as number from "./number.js";
import { mount } from "./shell.js";
import { tally } from "./tally.js";

mount("guess", guess({ number: number.number, choice: choice.choice }, number.LOOK + choice.LOOK));
mount("tally", tally);
