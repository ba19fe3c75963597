import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { build, type Plugin, type Rollup } from "vite";

// Makes report.html beside the pages: src/xray/report.ts, its styles and report.html as one file that loads nothing.

const root = import.meta.dirname;

async function bundle(): Promise<{ script: string; style: string }> {
  const built = (await build({
    root,
    configFile: false,
    logLevel: "warn",
    build: {
      target: "es2022",
      write: false,
      cssCodeSplit: false,
      modulePreload: false,
      rollupOptions: { input: path.join(root, "src/xray/report.ts"), output: { format: "iife", inlineDynamicImports: true } },
    },
  })) as Rollup.RollupOutput;
  const script = built.output.find((file): file is Rollup.OutputChunk => file.type === "chunk")!.code;
  const style = built.output.find((file): file is Rollup.OutputAsset => file.type === "asset" && file.fileName.endsWith(".css"))!.source;
  return { script: script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--").trim(), style: String(style).trim() };
}

/** Lets in this script and this style alone, and no request at all. */
function policy(script: string, style: string): string {
  const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
}

export function report(): Plugin {
  return {
    name: "vitrine-report",
    apply: "build",
    async writeBundle({ dir }) {
      const { script, style } = await bundle();
      const parts: Record<string, string> = {
        policy: `<meta http-equiv="Content-Security-Policy" content="${policy(script, style)}">`,
        style: `<style>${style}</style>`,
        script: `<script>${script}</script>`,
      };
      const page = readFileSync(path.join(root, "report.html"), "utf8").replace(/<!--(policy|style|script)-->/g, (_, name: string) => parts[name]!);
      await writeFile(path.join(dir!, "report.html"), page);
    },
  };
}
