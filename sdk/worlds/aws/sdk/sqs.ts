/** For `import()`: what is named here is all that a bundle takes of the package. */
export { SQS } from '@aws-sdk/client-sqs'
