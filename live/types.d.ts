/** What the scripts cannot say by themselves: `Trainer` gets these from `Object.assign`, and the page a table of its figures. */
import type { Loss } from "./core/train.js";
import type { Net } from "./core/net.js";

declare module "./core/train.js" {
  interface Trainer {
    net: Net;
    x: ArrayLike<number>;
    y: ArrayLike<number>;
    kind: Loss;
    optimizer: "gd" | "adam";
    rate: number;
    free?: boolean[];
    steps: number;
  }
}

declare global {
  var foldnetLive: Record<string, (view: { model: any; el: HTMLElement }) => () => void> | undefined;
}
