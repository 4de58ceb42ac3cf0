// Says what the module says.

import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]));
const { trace_hash, states } = instance.exports;
const number = (signed) => BigInt.asUintN(64, signed);
console.log(`trace_hash ${number(trace_hash()).toString(16).padStart(16, "0")}`);
console.log(`states ${number(states())}`);
