import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs'
import type { OverwinterProps } from './options.ts'

/** With the user's key, or with the queue's own. */
export function queueEncryption(kmsKey: IKey | undefined): Pick<QueueProps, 'encryption' | 'encryptionMasterKey'> {
  return kmsKey
    ? { encryption: QueueEncryption.KMS, encryptionMasterKey: kmsKey }
    : { encryption: QueueEncryption.SQS_MANAGED }
}

/** DynamoDB, SQS and S3 use the key on behalf of their caller. Their manuals list what each needs. */
const ACTIONS = {
  /** Reads the table, its stream, payloads or messages. */
  read: ['kms:Decrypt', 'kms:DescribeKey'],
  /** Sends messages, for which SQS decrypts the data key. */
  send: ['kms:Decrypt', 'kms:GenerateDataKey'],
  /** Writes to the table, and reads as far as writing needs it. */
  write: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*'],
}

export type KeyUse = keyof typeof ACTIONS

/** The user's key, and the keys of an adopted table and bucket. */
export function keysOf({ kmsKey, table, bucket }: OverwinterProps): IKey[] {
  return [...new Set([kmsKey, table?.encryptionKey, bucket?.encryptionKey])].filter((key) => key !== undefined)
}

export function grantKey(kmsKey: IKey | undefined, grantee: IGrantable, use: KeyUse | undefined): void {
  if (use) kmsKey?.grant(grantee, ...ACTIONS[use])
}
