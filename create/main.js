#!/usr/bin/env node
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

// `npm create overwinter@latest my-app` runs `overwinter init my-app` of the version it depends on.
const require = createRequire(import.meta.url)
const manifest = require.resolve('overwinter/package.json')
process.argv.splice(2, 0, 'init')
await import(new URL(require(manifest).bin.overwinter, pathToFileURL(manifest)).href)
