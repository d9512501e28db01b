// Reads YAML texts with every reader and tells where one does not find the expected data.
//
// Usage: node read.mjs NODE_MODULES < pairs.json
// pairs.json is a list of {yaml, json}: a text and the data it stands for, as JSON text.
// Prints {failures: [{index, reader, got}], dumps: [what js-yaml 4 writes for the data]}.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

const load = createRequire(join(resolve(process.argv[2]), 'from-here.js'))
const jsYaml4 = load('js-yaml-4')
const jsYaml5 = load('js-yaml-5')
const yaml = load('yaml')

const READERS = {
  'js-yaml 4': (text) => jsYaml4.load(text),
  'js-yaml 5': (text) => jsYaml5.load(text),
  'yaml 2': (text) => yaml.parse(text),
}

// JSON has no word for some of what a reader may find, and would hide it.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value instanceof Date) return `Date(${value.toISOString()})`
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value)
    return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`).join(',')}}`
  }
  if (typeof value === 'string') return JSON.stringify(value)
  return Object.is(value, -0) ? '-0' : String(value)
}

function attempt(read, text) {
  try {
    return canonical(read(text))
  } catch (error) {
    return `error: ${error.message}`
  }
}

const failures = []
const dumps = []
JSON.parse(readFileSync(0, 'utf8')).forEach((pair, index) => {
  const data = JSON.parse(pair.json)
  const expected = canonical(data)
  for (const [reader, read] of Object.entries(READERS)) {
    const got = attempt(read, pair.yaml)
    if (got !== expected) failures.push({ index, reader, got: got.slice(0, 500) })
  }
  dumps.push(jsYaml4.dump(data, { lineWidth: -1, noRefs: true }))
})
process.stdout.write(JSON.stringify({ failures, dumps }))
