/**
 * A link to CloudWatch Logs Insights that shows the lines that runners have logged for a run since it was
 * created.
 */
export function logsLink(
  region: string,
  logGroup: string,
  { runId, createdAt, endedAt }: { runId: string; createdAt: number; endedAt?: number },
): string {
  const query = `fields @timestamp, level, message, step, attempt | filter runId = '${runId}' | sort @timestamp`
  const end =
    endedAt === undefined
      ? "end~0~start~-2592000~timeType~'RELATIVE~unit~'seconds"
      : `end~${quoted(iso(endedAt + MINUTE_MS))}~start~${quoted(iso(createdAt))}~timeType~'ABSOLUTE~tz~'UTC`
  const detail = `~(${end}~editorString~${quoted(query)}~source~(~${quoted(logGroup)}))`
  const domain = region.startsWith('cn-') ? 'console.amazonaws.cn' : 'console.aws.amazon.com'
  return `https://${region}.${domain}/cloudwatch/home?region=${region}#logsV2:logs-insights$3FqueryDetail$3D${detail}`
}

const MINUTE_MS = 60_000
const iso = (ms: number) => new Date(ms).toISOString()

/** The console writes characters other than letters and digits as a star and two hexadecimal digits. */
const quoted = (text: string) =>
  `'${text.replaceAll(/[^\w.-]/g, (sign) => `*${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)}`
