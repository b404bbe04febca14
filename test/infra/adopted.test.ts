import { Template } from 'aws-cdk-lib/assertions'
import { AttributeType, type TableAttributesV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { describe, expect, it } from 'vitest'
import { TABLE } from '../../sdk/worlds/aws/table.ts'
import { build, type Props, synthesise } from './synth.ts'

const INDEXES = TABLE.indexes.map(({ name }) => name)
const adopting =
  (attributes: Partial<TableAttributesV2>): Props =>
  (stack) => ({
    table: TableV2.fromTableAttributes(stack, 'Runs', { tableName: 'OldRuns', ...attributes }),
    bucket: Bucket.fromBucketName(stack, 'Payloads', 'old-payloads'),
  })

describe('a table and a bucket of an earlier stack', () => {
  it('are used, and none is created', () => {
    const { template } = synthesise(adopting({ globalIndexes: INDEXES }))
    template.resourceCountIs('AWS::DynamoDB::GlobalTable', 0)
    template.resourceCountIs('AWS::S3::Bucket', 0)
    for (const { Properties } of Object.values(template.findResources('AWS::Lambda::Function')))
      expect(Properties.Environment.Variables).toMatchObject({
        OVERWINTER_TABLE: 'OldRuns',
        OVERWINTER_BUCKET: 'old-payloads',
      })
    const policies = JSON.stringify(template.findResources('AWS::IAM::Policy'))
    for (const resource of [
      ':table/OldRuns"',
      ':table/OldRuns/index/due',
      ':table/OldRuns/index/list',
      ':s3:::old-payloads/*',
    ])
      expect(policies).toContain(resource)
  })

  it('may have keys of their own, which the functions may use', () => {
    const { template } = synthesise((stack) =>
      adopting({ globalIndexes: INDEXES, encryptionKey: new Key(stack, 'OldKey') })(stack),
    )
    const may = Object.entries(template.findResources('AWS::IAM::Policy')).filter(([, policy]) =>
      JSON.stringify(policy).includes('OldKey'),
    )
    expect(may.map(([id]) => /^Workflows(\w+?)Role/.exec(id)![1]).toSorted()).toEqual([
      'Api',
      'Callbacks',
      'DeadLetters',
      'Runner',
      'Schedules',
      'Sweeper',
    ])
  })

  it('tell their events from the stream that is named', () => {
    const tableStreamArn = 'arn:aws:dynamodb:eu-north-1:123456789012:table/OldRuns/stream/2026'
    const { template } = synthesise((stack) => ({
      ...adopting({ globalIndexes: INDEXES, tableStreamArn })(stack),
      lifecycleEvents: true,
    }))
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', { EventSourceArn: tableStreamArn })
  })

  it('are refused where what a run needs is not known, by its name', () => {
    expect(() => build(adopting({}))).toThrow(
      /^table: nothing is known of the indexes 'due' and 'list'.*globalIndexes: \['due', 'list'\]/,
    )
    expect(() => build((stack) => ({ ...adopting({ globalIndexes: INDEXES })(stack), lifecycleEvents: true }))).toThrow(
      /^table: nothing is known of its stream.*tableStreamArn/,
    )
    const key = (name: string) => ({ name, type: AttributeType.STRING })
    const halfATable: Props = (stack) => ({
      table: new TableV2(stack, 'Runs', {
        partitionKey: key('pk'),
        sortKey: key('sk'),
        globalSecondaryIndexes: [{ indexName: 'due', partitionKey: key('dueShard'), sortKey: key('dueKey') }],
      }),
    })
    expect(() => build(halfATable)).toThrow(/^table: nothing is known of the indexes 'list'/)
  })

  it('can be those of another construct in the same app', () => {
    const { stack, overwinter } = build()
    expect(() => build(() => ({ table: overwinter.table, bucket: overwinter.bucket }))).not.toThrow()
    Template.fromStack(stack).resourceCountIs('AWS::DynamoDB::GlobalTable', 1)
  })
})
