import { Annotations, Stack, Token } from 'aws-cdk-lib'
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import type { Construct } from 'constructs'
import type { OverwinterProps } from './options.ts'

/** The actions of alarms: mail addresses, topics and others. */
export function alarmActionsOf(scope: Construct, { alarmActions = [], alarmsTo }: OverwinterProps): IAlarmAction[] {
  const actions = alarmsTo === undefined ? alarmActions : [...alarmActions, new SnsAction(topicOf(scope, alarmsTo))]
  if (actions.length === 0)
    Annotations.of(scope).addWarningV2(
      'overwinter:alarmsTellNoOne',
      'No one is notified when an alarm goes off. Give alarmsTo a mail address or the ARN of an SNS topic, or alarmActions',
    )
  return actions
}

function topicOf(scope: Construct, alarmsTo: string): ITopic {
  if (Token.isUnresolved(alarmsTo) || alarmsTo.startsWith('arn:'))
    return Topic.fromTopicArn(scope, 'AlarmTopic', alarmsTo)
  if (!/^[^\s@]+@[^\s@]+$/.test(alarmsTo))
    throw new Error(`alarmsTo is '${alarmsTo}', and must be a mail address or the ARN of an SNS topic`)
  const topic = new Topic(scope, 'AlarmTopic', { enforceSSL: true })
  // A topic with a policy of its own has lost the default one, which allowed the account's alarms to publish.
  const conditions = { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } }
  topic.grantPublish(new ServicePrincipal('cloudwatch.amazonaws.com', { conditions }))
  topic.addSubscription(new EmailSubscription(alarmsTo))
  return topic
}
