/** For `import()`: what is named here is all that a bundle takes of the package. */
export { Scheduler } from '@aws-sdk/client-scheduler'
