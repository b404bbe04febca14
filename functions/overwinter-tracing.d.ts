/**
 * `otlp-tracing.ts`, `cloudwatch-tracing.ts`, or `no-tracing.ts` if tracing is off, so that the bundle
 * contains only what it needs.
 */
declare module 'overwinter-tracing' {
  export const traced: (world: import('../sdk/worlds/aws/world.ts').AwsWorld) => {
    world: import('../sdk/worlds/aws/world.ts').AwsWorld
    /** Must be awaited before the function stops; takes a second at most. */
    flush?: () => Promise<void>
  }
}
