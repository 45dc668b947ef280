# SPDX-License-Identifier: Apache-2.0
"""Classes with the interfaces of other packages, on Bloomery's filters."""
