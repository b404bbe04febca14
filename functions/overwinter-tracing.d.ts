/** `otlp-tracing.ts`, `cloudwatch-tracing.ts`, or `no-tracing.ts` where nobody traces, who then does not carry any of it. */
declare module 'overwinter-tracing' {
  export const traced: (world: import('../sdk/worlds/aws/world.ts').AwsWorld) => {
    world: import('../sdk/worlds/aws/world.ts').AwsWorld
    /** To be waited for before the function stops; never for longer than a second. */
    flush?: () => Promise<void>
  }
}
