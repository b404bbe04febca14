import { App, CfnOutput, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { Overwinter } from './overwinter.ts'

/**
 * The example workflows of this repository: `npx cdk deploy`. With `-c disposable=true` all data is deleted
 * with the stack.
 */
const app = new App()
const stack = new Stack(app, 'Overwinter', { description: 'Durable workflows' })
const { api, workersUrl } = new Overwinter(stack, 'Workflows', {
  entry: 'workflows/index.ts',
  taskTypes: ['research', 'conformance'],
  // A new account may run ten functions at a time, and allows no reservation.
  workersConcurrency: false,
  maxConcurrency: 5,
  alarmsTo: app.node.tryGetContext('alarms'),
  removalPolicy: app.node.tryGetContext('disposable') ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
})
new CfnOutput(stack, 'ApiUrl', { value: api.apiEndpoint })
new CfnOutput(stack, 'WorkersUrl', { value: workersUrl! })
