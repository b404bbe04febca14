import { partition } from '@aws-sdk/core/client'

/**
 * The domain of AWS's hosts in a region's partition: `amazonaws.com`, `amazonaws.com.cn`,
 * `amazonaws.eu`.
 */
export const dnsSuffix = (region: string): string => partition(region).dnsSuffix
