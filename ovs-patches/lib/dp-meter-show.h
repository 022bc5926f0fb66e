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

#ifndef DP_METER_SHOW_H
#define DP_METER_SHOW_H 1

/* What the meters of a userspace datapath show to its operator. */

#include <stdbool.h>

struct dp_meters;
struct ds;

/* Appends to '*s' the bursts of each band that has a phantom queue, as text or
 * as a JSON array. */
void dp_meters_show_bursts(const struct dp_meters *ms, bool as_json,
                           struct ds *s);

#endif /* dp-meter-show.h */
