import { defineConfig } from "vite";
import { report } from "./vite.report";

// `npm run dev` shows the sources against a server at VITRINE_URL, where that is not on its usual port.
const api = process.env.VITRINE_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [report()],
  build: {
    target: "es2022",
    modulePreload: false,
    sourcemap: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 300,
    cssCodeSplit: false,
  },
  server: { proxy: { "/v1": api, "/tokenize": api, "/detokenize": api, "/health": api } },
});
