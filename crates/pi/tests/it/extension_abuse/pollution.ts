// Breaks built-in objects and prototypes.
const broken = () => {
  throw new Error("polluted");
};

function pollute() {
  (Object.prototype as any).surprise = "everywhere";
  (Array.prototype as any).last = function () {
    return this[this.length - 1];
  };
  for (const name of ["map", "filter", "find", "push", "includes", "join", "flat", "forEach", "slice", "some"]) (Array.prototype as any)[name] = broken;
  for (const name of ["get", "set", "has", "values", "entries", "delete"]) (Map.prototype as any)[name] = broken;
  (Array.prototype as any)[Symbol.iterator] = broken;
  (Set.prototype as any).add = broken;
  (Promise.prototype as any).then = broken;
  (Promise as any).resolve = broken;
  (JSON as any).stringify = broken;
  (JSON as any).parse = broken;
  (Object as any).entries = broken;
  (Object as any).keys = broken;
  (String.prototype as any).split = broken;
  (String.prototype as any).startsWith = broken;
  (Function.prototype as any).call = broken;
  (Function.prototype as any).apply = broken;
  (globalThis as any).Promise = broken;
  (globalThis as any).Map = broken;
  (globalThis as any).Error = broken;
}
pollute();

export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      pollute();
      throw 1;
    },
  });
  pollute();
}
