// Measures @pydantic/monty, the Python subset in Rust, in this process: no jail, fresh state for
// every run.
//
//   node monty.mjs NODE_MODULES [RUNS]
//
// Prints one line of JSON: {NAME: {median, p99, n}}, the shape of `caisson bench --json`'s metrics.
import { createRequire } from 'node:module'
import path from 'node:path'

const [modules, runs = '5000'] = process.argv.slice(2)
const require = createRequire(path.resolve(modules, 'here.js'))
const { Monty } = await import(require.resolve('@pydantic/monty'))

const WARM_UP = 200

function summarise(samples) {
  samples.sort((a, b) => a - b)
  const n = samples.length
  const middle = n >> 1
  const median = n % 2 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2
  return { median, p99: samples[Math.floor((n * 99 + 99) / 100) - 1], n }
}

// Microseconds of each call of `once`, which must give `expected`.
function time(count, once, expected) {
  const samples = []
  for (let i = -WARM_UP; i < count; i++) {
    const begin = process.hrtime.bigint()
    const result = once()
    const took = process.hrtime.bigint() - begin
    if (Number(result) !== expected) throw new Error(`got ${result}, expected ${expected}`)
    if (i >= 0) samples.push(Number(took) / 1000)
  }
  return summarise(samples)
}

const calls = 'for i in range(100):\n    r = echo(i)\nr'
const echo = { externalFunctions: { echo: (value) => value } }

console.log(
  JSON.stringify({
    'monty.fresh_run_us': time(Number(runs), () => new Monty('1+1').run(), 2),
    'monty.calls_100_us': time(Math.ceil(Number(runs) / 10), () => new Monty(calls).run(echo), 99),
  }),
)
