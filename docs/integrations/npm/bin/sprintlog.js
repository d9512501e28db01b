#!/usr/bin/env node
// Runs the installed sprintlog from npm scripts. It fetches nothing from a package index,
// where sprintlog is not published and anyone could take its name.
// Streams, signals and the exit code are those of the program. Nothing in a project's own
// node_modules or current folder is run: only what the absolute folders of PATH have.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const HERE = fs.realpathSync(__filename);

function find(name) {
  for (const folder of (process.env.PATH || "").split(path.delimiter)) {
    if (!path.isAbsolute(folder) || folder.split(path.sep).includes("node_modules")) continue;
    const file = path.join(folder, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (fs.statSync(file).isFile() && fs.realpathSync(file) !== HERE) return file;
    } catch {
      continue;
    }
  }
  return undefined;
}

const file = find("sprintlog");
if (file === undefined) {
  console.error("error: sprintlog is not on the PATH");
  console.error("hint: in a checkout of sprintlog: `pipx install .` or `uv tool install .`");
  process.exit(1);
}

// Heard from before there is a program: a signal that comes while it starts is passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C to both; who sends a signal to this process means the program.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: ${file}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + os.constants.signals[signal] : code);
});
