import js from "@eslint/js";
import globals from "globals";

const rules = {
  "max-len": ["error", { code: 100, ignoreStrings: true, ignoreTemplateLiterals: true }],
  eqeqeq: "error",
  "no-var": "error",
  "prefer-const": ["error", { destructuring: "all" }],
  "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
};

export default [
  { ignores: [".venv/", "node_modules/", "static/vendor/"] },
  js.configs.recommended,
  { files: ["{static,examples}/**/*.js"], languageOptions: { globals: globals.browser }, rules },
  {
    files: ["static/form/*.js"], // gradio's
    languageOptions: {
      globals: { element: "readonly", props: "readonly", trigger: "readonly", watch: "readonly" },
    },
  },
  { files: ["tests/**/*.js", "*.js"], languageOptions: { globals: globals.node }, rules },
];
