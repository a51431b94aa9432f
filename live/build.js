/** Make the bundles: `npm ci && npm run build` in this folder. One classic script a figure, since a page opened from a disk may load nothing else. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const GUESSES = ["ask", "drawn", "guess", "marked"]; // no figures: they have neither state nor title
const out = process.argv[2] ?? join(here, "..", "foldbook", "live", "bundles");

/** The figures of these names, and the guesses where they are among them. @param {string[]} names */
function bundle(names) {
  const figures = names.filter((name) => !GUESSES.includes(name)).map((name) => `import ${name} from "./figures/${name}.js"; mount("${name}", ${name});`);
  const contents = [...(figures.length ? ['import { mount } from "./mount.js";'] : []), ...figures, ...names.filter((name) => GUESSES.includes(name)).map((name) => `import "./guess/${name}.js";`)].join("\n");
  const made = buildSync({
    stdin: { contents, resolveDir: here, sourcefile: "entry.js" },
    bundle: true, minify: true, format: "iife", target: "es2020", charset: "utf8", legalComments: "none", write: false,
  });
  // a script inside a page must not hold the words that end it
  return `/* foldnet, MIT licence */${made.outputFiles[0].text.trim()}\n`.replaceAll("</script", "<\\/script");
}

const names = readdirSync(join(here, "figures")).filter((file) => file.endsWith(".js")).map((file) => file.slice(0, -3)).sort();
const index = {};
mkdirSync(out, { recursive: true });
for (const name of names) {
  const { default: figure } = await import(`./figures/${name}.js`), script = bundle([name]);
  writeFileSync(join(out, `${name}.js`), script);
  index[name] = { title: figure.title, hash: createHash("sha256").update(script).digest("hex").slice(0, 12), defaults: figure.defaults };
}
for (const name of GUESSES) writeFileSync(join(out, `${name}.js`), bundle([name]));
writeFileSync(join(out, "all.js"), bundle([...names, ...GUESSES]));
writeFileSync(join(out, "index.json"), `${JSON.stringify(index, null, 1)}\n`);
