/** For `import()`: what is named here is all that a bundle takes of the package. */
export { GetParametersCommand, SSMClient } from '@aws-sdk/client-ssm'
