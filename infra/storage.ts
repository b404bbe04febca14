import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import {
  AttributeType,
  Billing,
  ProjectionType,
  StreamViewType,
  TableEncryptionV2,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb'
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import { DEAD_EVENTS } from '../functions/event-dead-letters.ts'
import { RUN_PAYLOADS } from '../sdk/worlds/aws/payloads.ts'
import { TABLE } from '../sdk/worlds/aws/table.ts'
import type { OverwinterProps } from './options.ts'

const key = (name: string) => ({ name, type: AttributeType.STRING })

export function createTable(
  scope: Construct,
  { kmsKey, removalPolicy = RemovalPolicy.RETAIN, lifecycleEvents }: OverwinterProps,
): TableV2 {
  return new TableV2(scope, 'Table', {
    partitionKey: key(TABLE.partitionKey),
    sortKey: key(TABLE.sortKey),
    timeToLiveAttribute: TABLE.timeToLive,
    globalSecondaryIndexes: TABLE.indexes.map(({ name, partitionKey, sortKey, include }) => ({
      indexName: name,
      partitionKey: key(partitionKey),
      sortKey: key(sortKey),
      ...(include
        ? { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [...include] }
        : { projectionType: ProjectionType.KEYS_ONLY }),
    })),
    billing: Billing.onDemand(),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: removalPolicy !== RemovalPolicy.DESTROY,
    removalPolicy,
    encryption: kmsKey ? TableEncryptionV2.customerManagedKey(kmsKey) : TableEncryptionV2.awsManagedKey(),
    ...(lifecycleEvents && { dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES }),
  })
}

/** Twice the longest sleep and more. S3 cannot know that a run was removed, so objects expire by age. */
const PAYLOAD_DAYS = 800

export function createBucket(
  scope: Construct,
  { kmsKey, removalPolicy = RemovalPolicy.RETAIN, retention }: OverwinterProps,
): Bucket {
  return new Bucket(scope, 'Payloads', {
    encryption: kmsKey ? BucketEncryption.KMS : BucketEncryption.S3_MANAGED,
    ...(kmsKey && { encryptionKey: kmsKey, bucketKeyEnabled: true }),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    lifecycleRules: [
      { prefix: RUN_PAYLOADS, expiration: retention?.payloads ?? Duration.days(PAYLOAD_DAYS) },
      { abortIncompleteMultipartUploadAfter: Duration.days(1) },
      // Longer than the letters that point at them.
      { prefix: DEAD_EVENTS, expiration: Duration.days(15) },
    ],
    removalPolicy,
  })
}
