import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CfnOutput, Duration, RemovalPolicy, type Stack } from 'aws-cdk-lib'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Overwinter, type OverwinterProps } from '../../infra/overwinter.ts'

/** A second construct beside the first: its payloads are encrypted by the codec of the guide, as it stands there. */
export function addVault(stack: Stack, api: OverwinterProps['api']): Overwinter {
  const masterKey = new Key(stack, 'MasterKey', { removalPolicy: RemovalPolicy.DESTROY })
  const dataKeys = new TableV2(stack, 'DataKeys', {
    partitionKey: { name: 'owner', type: AttributeType.STRING },
    removalPolicy: RemovalPolicy.DESTROY,
  })
  const vault = new Overwinter(stack, 'Vault', {
    entry: 'test/e2e/vault-workflows.ts',
    api,
    codec: codecOfTheGuide(),
    environment: { DATA_KEYS: dataKeys.tableName, MASTER_KEY: masterKey.keyArn, KEY_CACHE_MS: '0' },
    onFailure: { workflow: 'tell' },
    removalPolicy: RemovalPolicy.DESTROY,
    timeout: Duration.seconds(30),
  })
  const { Runner, Api, Schedules, Sweeper } = vault.functions
  const onFailure = vault.subscriptions.node.findAll().filter((child) => child instanceof LambdaFunction)
  for (const handler of [Runner, Api, Schedules, ...onFailure]) {
    dataKeys.grantReadWriteData(handler)
    masterKey.grantEncryptDecrypt(handler)
  }
  const outputs = {
    VaultApiId: vault.api.apiId,
    VaultApiUrl: vault.api.apiEndpoint,
    VaultTable: vault.table.tableName,
    VaultBucket: vault.bucket.bucketName,
    VaultSweeper: Sweeper.functionName,
    VaultDataKeys: dataKeys.tableName,
  }
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value })
  return vault
}

function codecOfTheGuide(): string {
  const root = join(import.meta.dirname, '../..')
  const guide = readFileSync(join(root, 'docs/payloads.md'), 'utf8')
  const [, code] = /```ts\n(\/\/ workflows\/codec\.ts\n[\s\S]*?)```/.exec(guide)!
  // Where its imports are found.
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  const file = join(mkdtempSync(join(root, 'node_modules/.cache/overwinter-codec-')), 'codec.ts')
  writeFileSync(file, code!)
  return file
}
