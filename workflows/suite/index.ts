import { describeAgent } from './agent.ts'
import { describeApproval } from './approval.ts'
import { describeDefinitions } from './definitions.ts'
import { describeDrip } from './drip.ts'
import { describeEscalation } from './escalation.ts'
import { describeFanOut } from './fan-out.ts'
import { describeFlaky } from './flaky.ts'
import { describeImportShop } from './import-shop.ts'
import { describeNap } from './nap.ts'
import { describeNightlyBatch } from './nightly-batch.ts'
import { describeNightlyReport } from './nightly-report.ts'
import { describeOrder } from './order.ts'
import { describeParent } from './parent.ts'
import { describePipeline } from './pipeline.ts'
import type { Stage } from './stage.ts'
import { describeTokenBudget } from './token-budget.ts'

const ALL = [
  describeNap,
  describeOrder,
  describeApproval,
  describeDrip,
  describePipeline,
  describeEscalation,
  describeFanOut,
  describeAgent,
  describeNightlyReport,
  describeFlaky,
  describeParent,
  describeDefinitions,
  describeImportShop,
  describeTokenBudget,
  describeNightlyBatch,
]

/** The tests of the examples, on any stage. */
export function describeExamples(on: () => Stage): void {
  for (const describeOne of ALL) describeOne(on)
}
