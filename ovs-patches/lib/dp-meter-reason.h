/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#ifndef DP_METER_REASON_H
#define DP_METER_REASON_H 1

/* Why a meter drops a packet. */
enum dp_meter_reason {
    DP_REASON_RATE,             /* A band that has no parent refused it. */
    DP_REASON_LIMIT,            /* A phantom queue would be too deep. */
    DP_REASON_PARENT,           /* A band refused it, and its parent did not
                                 * lend. */
    DP_REASON_MISSING,          /* The meter does not exist. */
};

#endif /* dp-meter-reason.h */
